"""What tests of several folders use. Each name stands here once."""
