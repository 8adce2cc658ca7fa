import { emptyResponse, type FetchHandler } from './fetch-handler.ts';
import { pageOf } from './page.ts';
import { staticFiles } from './static-files.ts';

const FOLDER = new URL('../../generated/console/', import.meta.url);

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** The script with the elements of the console for pages of other origins, and its texts in other languages. */
export const embedScripts = staticFiles(new URL('../../generated/embed/', import.meta.url), false);

/** The console in a browser, which `scripts/console` bundles. The addresses of its screens come after `#`. */
export const consoleFiles = staticFiles(FOLDER);

export function consolePage(): FetchHandler {
  let respond: ((request: Request) => Response) | null = null;
  return (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return emptyResponse(405, { allow: 'GET, HEAD' });
    respond ??= pageOf(FOLDER, CONTENT_SECURITY_POLICY);
    return respond(request);
  };
}
