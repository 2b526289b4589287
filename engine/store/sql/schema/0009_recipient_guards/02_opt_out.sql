-- How people opt out.

ALTER TABLE suppressions
    ADD COLUMN source text NOT NULL DEFAULT 'hand'   -- who added the phone: hand (a command), import (a file), service (it
        CHECK (source IN ('hand', 'import', 'service', 'word', 'button'));  -- refused with 131050), word or button (the
                                                     -- person wrote a word of opt_out_words, or pressed such a button)

UPDATE suppressions SET source = 'service' WHERE reason LIKE 'opted out (%131050%';

-- `audit.action` has three more values: "opt-out" (a person, or the service for a person, opted out; `detail` has the source,
-- and what the entry came from), "suppress" and "unsuppress" (a command changed the list; `detail` has the source and how
-- many phones). No phone is in the audit.

-- Words that opt out if they are the whole text of a message, or the payload or the title of a button.
CREATE TABLE opt_out_words (
    word     text PRIMARY KEY,               -- as people write it; compared without case, accents and punctuation
    language text NOT NULL                   -- of the word, for people: a word counts in every language
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
