import fc from 'fast-check';

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength });
const whole = fc.oneof(
  fc.constantFrom('0', '9007199254740992', '9007199254740993', '18446744073709551615', '21'),
  fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String),
);
const fraction = fc.oneof(
  fc.constantFrom('', '.0', '.20', '.2', '.5', '.0000001'),
  digits(25).map((text) => `.${text}`),
);
const exponent = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  fc.constantFrom('e0', 'E2', 'e+21', 'e-7', 'e400', 'e-400'),
);

/** Numbers of JSON, most of which JavaScript would round or write otherwise. Exponents are at most 400. */
export const hardNumber = fc
  .tuple(fc.constantFrom('', '', '-'), whole, fraction, exponent)
  .map((parts) => parts.join(''));

/** The number in units of `10^-SCALE`. */
export function unitsOf(text: string): bigint {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [integer = '', decimals = ''] = mantissa.split('.');
  return BigInt(integer + decimals) * 10n ** BigInt(SCALE + Number(power) - decimals.length);
}

const SCALE = 500;

/** JavaScript orders the keys of an object like this, whatever the order of the text. */
const INDEXES = ['1', '9', '10'];
const byIndex = ([one]: readonly [string, string], [other]: readonly [string, string]): number =>
  INDEXES.includes(one) && INDEXES.includes(other)
    ? Number(one) - Number(other)
    : Number(INDEXES.includes(other)) - Number(INDEXES.includes(one));

/** Compact JSON texts with such numbers. Keys are unique; whole numbers come first, others are in no special order. */
export const { json: hardJson } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    { weight: 4, arbitrary: hardNumber },
    fc.constantFrom('null', 'true', '"1.0"', '"a\\"-0,1.50"', '""'),
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom('v', 'a b', 'n', '__proto__', '\\\\', 'é', ...INDEXES), tie('json')), {
        selector: ([key]) => key,
        maxLength: 3,
      })
      .map(
        (entries) =>
          `{${entries
            .sort(byIndex)
            .map(([key, value]) => `"${key}":${value}`)
            .join(',')}}`,
      ),
  ),
}));
