import { addressOf } from '../graph/addresses.ts';

const VERIFIER = 'brokergraph-verifier';
const ADDRESS = 'brokergraph-address';

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** Leaves the page for the OpenID provider, which returns to it with a code that only this tab can use. */
export async function leaveForProvider(): Promise<void> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem(VERIFIER, verifier);
  sessionStorage.setItem(ADDRESS, location.search + location.hash);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const query = new URLSearchParams({ returnTo: addressOf('.'), challenge: base64url(new Uint8Array(digest)) });
  location.assign(addressOf(`auth/oidc?${query}`));
}

/** The code that the provider has returned in the address, which becomes that of before. `null` without one. */
export function returnedCode(): { readonly code: string | null; readonly verifier: string | null } | null {
  const returned = new URLSearchParams(location.hash.slice(1));
  const code = returned.get('code');
  if (code === null && !returned.has('error')) return null;
  history.replaceState(null, '', `${addressOf('.')}${sessionStorage.getItem(ADDRESS) ?? ''}`);
  const verifier = sessionStorage.getItem(VERIFIER);
  for (const key of [VERIFIER, ADDRESS]) sessionStorage.removeItem(key);
  return { code, verifier };
}
