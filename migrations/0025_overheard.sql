-- Who has spoken since a card stands: a yes in a thread may be for them. When a message was said is the platform's word;
-- of people whom Nod does not listen to, only when the last one spoke is kept.
alter table messages add column said_at timestamptz;
alter table conversations add column strangers_at timestamptz;
