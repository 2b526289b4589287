-- People to whom nothing is sent, and how they get on that list and off it.

-- The suppression list: nothing is sent to these phones.
CREATE TABLE suppressions (
    phone         bigint PRIMARY KEY,         -- digits of E.164
    reason        text        NOT NULL,
    source        text        NOT NULL DEFAULT 'hand'  -- who added the phone: hand (a command), import (a file), service (it
        CHECK (source IN ('hand', 'import', 'service', 'word', 'button')),  -- refused with 131050, or told of a stop), word or
                                              -- button (the person wrote a word of opt_out_words, or pressed such a button)
    by_preference boolean     NOT NULL DEFAULT false,  -- the person stopped messages in the app's own menu
                                              -- (`user_preferences`). `resume` takes back exactly that: an entry with source
                                              -- service goes; one with source word or button stays, and a word takes that
                                              -- back. No other source has this mark
    added_at      timestamptz NOT NULL DEFAULT now()
);

-- What the service said of people beside their messages. A repeated event is one row, so it changes nothing, whatever a person
-- did to the suppression list in between.
--   refused  a status of our message: failed with 131050
--   stop     the person stopped messages of a category; resume: took that back
--   changed  the person of `phone` has the number `new_phone` now
CREATE TABLE opt_out_events (
    event_key       text        PRIMARY KEY,         -- hash of what tells the event from any other
    kind            text        NOT NULL CHECK (kind IN ('refused', 'stop', 'resume', 'changed')),
    phone           bigint,                          -- of the person, once known; a negative one is a pseudonym
    wamid           text,                            -- of our message, which names the person
    range_id        bigint,                          -- the next two: the same, by our tag
    seq             integer,
    category        text,                            -- of stop and resume
    new_phone       bigint,                          -- of changed
    occurred_at     timestamptz NOT NULL,            -- the service's time
    received_at     timestamptz NOT NULL DEFAULT now(),
    due_at          timestamptz,                     -- the person is not known yet and looked for again then; NULL: no more
    matches_tried   integer     NOT NULL DEFAULT 0,
    user_id         text                             -- the service's id of the person, as long as the phone is not known
);
-- Whose person is to be looked for?
CREATE INDEX opt_out_events_due ON opt_out_events (due_at) WHERE due_at IS NOT NULL;
-- Which events wait for the phone of this id?
CREATE INDEX opt_out_events_user_id ON opt_out_events (user_id) WHERE user_id IS NOT NULL;
-- What did the service say of this person?
CREATE INDEX opt_out_events_phone ON opt_out_events (phone) WHERE phone IS NOT NULL;

-- The phone of each person whom the service named by an id as well. Later events may name the id alone.
CREATE TABLE person_ids (
    user_id text        PRIMARY KEY,
    phone   bigint      NOT NULL,
    seen_at timestamptz NOT NULL  -- the service's time of the event that named both
);
-- Which ids has a person who is to be forgotten?
CREATE INDEX person_ids_phone ON person_ids (phone);

-- Words that opt out, or take that back, if they are the whole text of a message, or the payload or the title of a button.
CREATE TABLE opt_out_words (
    word     text    PRIMARY KEY,             -- as people write it; compared without case, accents and punctuation
    language text    NOT NULL,                -- of the word, for people: a word counts in every language
    opts_in  boolean NOT NULL DEFAULT false   -- the word takes back what another word or a button did
);

INSERT INTO opt_out_words (language, word) VALUES
    ('en', 'stop'), ('en', 'stop all'), ('en', 'stopall'), ('en', 'unsubscribe'), ('en', 'opt out'), ('en', 'optout'),
    ('en', 'stop promotions'), ('en', 'quit'), ('en', 'end'), ('en', 'revoke'),
    ('pt', 'parar'), ('pt', 'pare'), ('pt', 'sair'), ('pt', 'descadastrar'), ('pt', 'remover'), ('pt', 'não quero mais'),
    ('pt', 'cancelar inscrição'),
    ('es', 'baja'), ('es', 'dar de baja'), ('es', 'darme de baja'), ('es', 'detener'), ('es', 'basta'), ('es', 'no más'),
    ('es', 'no quiero más'), ('es', 'cancelar suscripción'),
    ('fr', 'arrêt'), ('fr', 'arrêter'), ('fr', 'arrêtez'), ('fr', 'désabonner'), ('fr', 'me désabonner'),
    ('fr', 'désinscrire'), ('fr', 'me désinscrire'),
    ('de', 'stopp'), ('de', 'abmelden'), ('de', 'abbestellen'), ('de', 'austragen'),
    ('it', 'ferma'), ('it', 'fermati'), ('it', 'cancellami'), ('it', 'disiscrivi'), ('it', 'disiscrivimi'),
    ('nl', 'afmelden'), ('nl', 'uitschrijven'),
    ('sv', 'avsluta'), ('sv', 'avregistrera'), ('da', 'afmeld'), ('da', 'frameld'), ('nb', 'avslutt'), ('nb', 'meld av'),
    ('fi', 'lopeta'), ('fi', 'peruuta'), ('pl', 'wypisz'), ('pl', 'rezygnuję'), ('pl', 'zatrzymaj'),
    ('cs', 'odhlásit'), ('sk', 'odhlásiť'), ('hu', 'leiratkozás'), ('ro', 'dezabonare'), ('ro', 'oprește'),
    ('el', 'διαγραφή'), ('el', 'σταμάτα'), ('bg', 'отписване'), ('ru', 'стоп'), ('ru', 'отписаться'), ('ru', 'отписка'),
    ('uk', 'відписатися'), ('uk', 'відписатись'), ('tr', 'dur'), ('tr', 'iptal'), ('tr', 'ret'),
    ('ar', 'توقف'), ('ar', 'إيقاف'), ('ar', 'إلغاء الاشتراك'), ('he', 'הסר'), ('he', 'הסרה'), ('he', 'עצור'),
    ('fa', 'لغو'), ('fa', 'توقف پیام'), ('ur', 'بند کریں'), ('hi', 'रोकें'), ('hi', 'बंद करें'), ('hi', 'रुको'),
    ('bn', 'বন্ধ'), ('bn', 'বন্ধ করুন'), ('ta', 'நிறுத்து'), ('te', 'ఆపండి'), ('mr', 'थांबवा'),
    ('id', 'berhenti'), ('id', 'henti'), ('ms', 'batal langganan'), ('tl', 'itigil'), ('vi', 'dừng'), ('vi', 'hủy'),
    ('th', 'หยุด'), ('th', 'ยกเลิก'), ('ja', '停止'), ('ja', '配信停止'), ('ko', '중지'), ('ko', '수신거부'),
    ('zh', '退订'), ('zh', '退訂'), ('zh', '停止接收'), ('sw', 'acha'), ('sw', 'simama');

INSERT INTO opt_out_words (language, word, opts_in)
SELECT language, word, true
FROM (VALUES
    ('en', 'start'), ('en', 'unstop'), ('en', 'subscribe'), ('en', 'opt in'), ('en', 'optin'),
    ('pt', 'voltar a receber'), ('pt', 'quero receber'), ('es', 'alta'), ('es', 'darme de alta'), ('es', 'quiero recibir'),
    ('fr', 'réabonner'), ('fr', 'me réabonner'), ('de', 'anmelden'), ('de', 'wieder anmelden'), ('it', 'iscrivimi'),
    ('nl', 'aanmelden')) AS opt_in (language, word);
