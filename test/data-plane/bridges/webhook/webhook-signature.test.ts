import { expect, test } from 'vitest';
import { retryAfterOf } from '../../../../src/data-plane/bridges/webhook/webhook-answer.ts';
import { signaturesOf } from '../../../../src/data-plane/bridges/webhook/webhook-signature.ts';

test('signs as the example of the specification', () => {
  const body = Buffer.from('{"test": 2432232314}');
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  expect(signaturesOf(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, body)).toBe(signature);
  expect(signaturesOf(`${secret} ${secret}`, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, body)).toBe(
    `${signature} ${signature}`,
  );
});

test('reads Retry-After as seconds and as a date', () => {
  const now = Date.parse('2024-05-01T12:00:00Z');
  expect(retryAfterOf('120', now)).toBe(120_000);
  expect(retryAfterOf('Wed, 01 May 2024 12:00:30 GMT', now)).toBe(30_000);
  expect(retryAfterOf('Wed, 01 May 2024 11:00:00 GMT', now)).toBe(0);
  expect(retryAfterOf('soon', now)).toBeUndefined();
});
