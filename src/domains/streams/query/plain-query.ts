import { replaceExactNumbers, sameNumber } from '../../../platform/text/exact-number.ts';

/** A query of a request in the form in which it is stored and sent: its long numbers are WrittenNumbers. */
export const plainQuery = (query: unknown): unknown =>
  replaceExactNumbers(query, (number) => sameNumber(number) ?? { number: String(number) });
