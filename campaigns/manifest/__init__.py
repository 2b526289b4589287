"""A campaign described as data: the options of `campaign create` by name, in a file or as stored."""
