/** The field `Accept`: RFC 9110, section 12.5.1. */

export const JSON_TYPE = 'application/json';
export const RESPONSE_TYPE = 'application/graphql-response+json';

/** A quoted text may have commas and semicolons: RFC 9110, section 5.6.4. */
const RANGES = /(?:"(?:\\.|[^"\\])*(?:"|$)|[^,"])+/g;
const PARAMETERS = /(?:"(?:\\.|[^"\\])*(?:"|$)|[^;"])+/g;

/** Browsers and clients send less than ten. Further ones are ignored. */
const MAX_RANGES = 100;

/** Weight of each media range in the order of the field, at most 1; 0 if it is no number. */
export function weightsOf(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.toLowerCase().match(RANGES)?.slice(0, MAX_RANGES) ?? []) {
    const [range = '', ...parameters] = part.match(PARAMETERS)?.map((text) => text.trim()) ?? [];
    const weight = Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1);
    weights.set(range, Math.max(weights.get(range) ?? 0, weight > 0 ? Math.min(weight, 1) : 0));
  }
  return weights;
}

export const weightOf = (weights: ReadonlyMap<string, number>, type: string): number =>
  weights.get(type) ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
