-- The language in which a document's words were stemmed: en, de, fr, es, it, nl or pt. Those of before were stemmed as English
-- ones.

alter table documents add column language text not null default 'en';
