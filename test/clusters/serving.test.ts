import { beforeAll, describe, expect, test } from 'vitest';
