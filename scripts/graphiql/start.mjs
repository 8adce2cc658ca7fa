/** The page at /graphql in a browser. `bundle.mjs` bundles it with its packages. */
import { hasSession } from './session.mjs';

if (await hasSession()) {
  const { show } = await import('./page.mjs');
  show();
}
