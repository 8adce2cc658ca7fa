import { test } from 'vitest';
import { checkKilledService } from './killed-service.ts';

test('the service killed 2 times has stored each message that its publisher was told is taken', () =>
  checkKilledService(2));
