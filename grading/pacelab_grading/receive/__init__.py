"""What students hand in: found, told apart by who handed it in, read. Nothing in a submission names a student."""
