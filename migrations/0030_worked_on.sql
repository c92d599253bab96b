-- The open draft that an effect works on, by its provider's id; null where it works on none. Payloads are the tools' own.
alter table effects add column draft text;
update effects set draft = payload->'draft'->>'id';
