update deliveries set card = card || jsonb_build_object('feedback', run_id) where run_id is not null;
insert into feedback (tenant_id, run_id, person_id, is_up, why, rated_at)
select tenant_id, id, person_id, false, 'Too long.', '2026-03-06 09:40Z' from runs;
