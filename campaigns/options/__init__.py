"""The options of a campaign, and their forms: of commands, of manifests, as stored."""
