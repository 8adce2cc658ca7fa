/** Documents name files that exist: `gateway/rest/router.ts`, or a name such as `router.ts` that some file has. */
import { documents, lineOf, sources } from './sources.mjs';

export function documentFaults() {
  const paths = sources.map(({ path }) => `/${path}`);
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(/`([\w/.-]+\.(?:ts|mjs))`/g)]
      .filter(([, name]) => !paths.some((known) => known.endsWith(`/${name}`)))
      .map(({ 1: name, index }) => `${path}:${lineOf(text, index)}: there is no file ${name}`),
  );
}
