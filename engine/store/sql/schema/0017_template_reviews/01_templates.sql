-- Why a template has its status, such as the reason of a rejection. Only events tell it; NULL: the service named none.
ALTER TABLE templates ADD COLUMN status_reason text;
