const BYTES = 32;

/** A new secret of Standard Webhooks. */
export function signingSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
