"""The papers' pacing algorithms (`core`, pure), their drivers for Linux (`linux`), and `core` compiled (`native`)."""

from pacelab_pacer import native

native.install()
