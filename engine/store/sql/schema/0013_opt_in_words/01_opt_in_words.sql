-- Words that take an opt-out back.

ALTER TABLE opt_out_words
    ADD COLUMN opts_in boolean NOT NULL DEFAULT false;  -- the word takes back what another word or a button did

-- `audit.action` has one more value: "opt-in" (a person took an opt-out back; `detail` as of "opt-out").

INSERT INTO opt_out_words (language, word, opts_in)
SELECT language, word, true
FROM (VALUES
    ('en', 'start'), ('en', 'unstop'), ('en', 'subscribe'), ('en', 'opt in'), ('en', 'optin'),
    ('pt', 'voltar a receber'), ('pt', 'quero receber'), ('es', 'alta'), ('es', 'darme de alta'), ('es', 'quiero recibir'),
    ('fr', 'réabonner'), ('fr', 'me réabonner'), ('de', 'anmelden'), ('de', 'wieder anmelden'), ('it', 'iscrivimi'),
    ('nl', 'aanmelden')) AS opt_in (language, word)
ON CONFLICT (word) DO NOTHING;  -- a word that people added keeps the meaning that they gave it
