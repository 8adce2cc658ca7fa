import { test } from 'vitest';
import { checkKilledService } from './killed-service.ts';

test('a service that is killed 2 times has stored each acknowledged message', () => checkKilledService(2));
