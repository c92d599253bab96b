-- Whether the person may also answer in words of their own. The answer is then the result of the call, and no choice for it.
alter table questions add column takes_words boolean not null default false;
