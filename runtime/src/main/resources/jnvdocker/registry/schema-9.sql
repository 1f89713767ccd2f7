-- Of a claim's MIG instance: the GPU that it is a part of, and all that is known of the part, in one word. Both are NULL
-- for a whole GPU.
ALTER TABLE claim_gpu ADD COLUMN parent TEXT;
ALTER TABLE claim_gpu ADD COLUMN part TEXT;
