"""The book of the papers' claims, as page, text and PDF."""
