-- Whose provider asked to wait with an approved effect, and until when; null where none did.
alter table effects add column waits_for text;
alter table effects add column waits_until timestamptz;
alter table effects add constraint effects_wait check ((waits_for is null) = (waits_until is null));
