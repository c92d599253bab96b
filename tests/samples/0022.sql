update questions set opened_at = '2026-03-06 09:40Z';
insert into voters select tenant_id, id, person_id from questions;
insert into votes select tenant_id, id, person_id, 0 from questions;
insert into vote_cards select tenant_id, id, delivery_id from questions;
