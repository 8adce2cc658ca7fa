export type Encoding = 'br' | 'gzip';

/** In order of preference: at the levels of `Compression`, Brotli takes less time and fewer bytes. */
const ENCODINGS = ['br', 'gzip'] as const;

/** The content coding of a response. `null`: identity. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3 */
export function acceptedEncoding(accept: string | undefined): Encoding | null {
  if (accept === undefined || accept === 'identity') return null;
  const weights = weightsOf(accept.toLowerCase());
  const others = weights.get('*') ?? 0;
  let best: Encoding | null = null;
  let bestWeight = 0;
  for (const encoding of ENCODINGS) {
    const weight = weights.get(encoding) ?? others;
    if (weight <= bestWeight) continue;
    best = encoding;
    bestWeight = weight;
  }
  return bestWeight < (weights.get('identity') ?? 0) ? null : best;
}

/** An invalid weight counts as 0. */
function weightsOf(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.split(',')) {
    const [coding = '', parameter] = part.split(';');
    const [, weight = '0'] = parameter === undefined ? ['', '1'] : (WEIGHT.exec(parameter.trim()) ?? []);
    weights.set(coding.trim(), Number(weight));
  }
  return weights;
}

const WEIGHT = /^q *= *(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
