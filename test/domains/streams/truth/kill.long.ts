import { test } from 'vitest';
import { checkKilledService } from './killed-service.ts';

test('a service that is killed 20 times has stored each acknowledged message', () => checkKilledService(20));
