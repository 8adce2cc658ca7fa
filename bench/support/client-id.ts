import { createHash } from 'node:crypto';

/** Ids as devices have them: a place and a serial number, of which two hexadecimal digits are in about one of a hundred. */
export function clientId(number: number): string {
  const serial = createHash('sha256').update(String(number)).digest('hex').slice(0, 4);
  return `plant-${number % 40}/sensor-${serial}-${number}`;
}
