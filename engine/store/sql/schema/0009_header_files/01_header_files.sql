-- Local files that headers of messages show. A recipient's first variable is the reference of a file, never the service's id of
-- it: ids end after 30 days, and files are uploaded again before. Whoever builds a message looks the id up.

-- The files of a campaign, as its plan found them.
CREATE TABLE campaign_files (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    reference   text   NOT NULL,  -- the file as the audience, or the command line, names it
    path        text   NOT NULL,  -- the same, absolute
    sha256      text   NOT NULL,  -- of its content; a file that changed since is not uploaded again
    mime_type   text   NOT NULL,
    PRIMARY KEY (campaign_id, reference)
);

-- Uploads, for all campaigns: a content is uploaded once for each number, because a number sends only what it uploaded.
CREATE TABLE uploads (
    sha256          text        NOT NULL,
    mime_type       text        NOT NULL,
    phone_number_id text        NOT NULL,
    media_id        text,                  -- the service's id; NULL: it was never uploaded
    expires_at      timestamptz NOT NULL DEFAULT '-infinity',  -- of the id
    taken_until     timestamptz NOT NULL DEFAULT '-infinity',  -- a process is uploading it; others wait until then
    PRIMARY KEY (sha256, mime_type, phone_number_id)
);
