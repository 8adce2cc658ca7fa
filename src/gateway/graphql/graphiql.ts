import { pageOf } from '../http/page.ts';
import { staticFiles } from '../http/static-files.ts';

const FOLDER = new URL('../../generated/graphiql/', import.meta.url);

/** The page acts with the session of the user, so it loads from this service only, and no other page may frame it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

/** GraphiQL in a browser, which `scripts/graphiql` bundles. */
export const graphiqlFiles = staticFiles(FOLDER);
export const graphiqlPage = () => pageOf(FOLDER, CONTENT_SECURITY_POLICY);
