update approvals set sources = '{mail from eve@x.test}';
