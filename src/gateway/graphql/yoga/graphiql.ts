import { wantsPage } from '../../http/page.ts';
import { graphiqlPage } from '../graphiql.ts';
import { isCrossSite } from './cross-site.ts';
import type { YogaPlugin } from './yoga-plugin.ts';

/** Responds to browsers with GraphiQL. Yoga's own page is nine megabytes, which browsers would load at each visit. */
export function graphiql(origins: ReadonlySet<string>): YogaPlugin {
  const respond = graphiqlPage();
  return {
    onRequest({ request, endResponse }) {
      if (wantsPage(request) && !isCrossSite(request, origins)) endResponse(respond(request));
    },
  };
}
