import { ServiceError } from '../../../platform/errors.ts';
import type { YogaPlugin } from './yoga-plugin.ts';

/** Refuses GET requests of other sites, which browsers send without a preflight request. Errors: NOT_ALLOWED. */
export function crossSite(origins: ReadonlySet<string>): YogaPlugin {
  return {
    onRequestParse({ request }) {
      if (request.method !== 'GET' || !isCrossSite(request, origins)) return;
      throw new ServiceError('NOT_ALLOWED', 'GET is not allowed for pages of other sites: use POST');
    },
  };
}

/** Reads the fetch metadata of browsers (https://www.w3.org/TR/fetch-metadata/). Other clients do not send it. */
export function isCrossSite({ headers }: Request, origins: ReadonlySet<string>): boolean {
  const site = headers.get('sec-fetch-site');
  if (site === null || site === 'same-origin' || site === 'none') return false;
  if (headers.get('sec-fetch-mode') === 'navigate') return false;
  const origin = headers.get('origin');
  return origin === null || !origins.has(origin);
}
