"""The endpoints beside sending: what an account, a number or a media item can be asked and told."""
