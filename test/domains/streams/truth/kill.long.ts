import { test } from 'vitest';
import { checkKilledService } from './killed-service.ts';

test('the service killed 20 times has stored each message that its publisher was told is taken', () =>
  checkKilledService(20));
