import { existsSync, readFileSync } from 'node:fs';

/** Names the code that runs. */
export interface Build {
  readonly version: string;
  /** Short hash, with the suffix `-dirty` if files differed from the commit. `null` if it is unknown. */
  readonly commit: string | null;
  /** `null` if it is unknown, as for a run from the TypeScript sources. */
  readonly builtAt: Date | null;
}

/** scripts/build.mjs writes it to dist. The relative paths are the same from src and dist. */
const RECORD = new URL('../build.json', import.meta.url);

const jsonOf = (url: URL) => JSON.parse(readFileSync(url, 'utf8'));

function readBuild(): Build {
  const { version } = jsonOf(new URL('../../package.json', import.meta.url));
  if (!existsSync(RECORD)) return { version, commit: null, builtAt: null };
  const { commit, builtAt } = jsonOf(RECORD);
  return { version, commit, builtAt: builtAt && new Date(builtAt) };
}

export const BUILD = readBuild();

export const textOfBuild = ({ version, commit, builtAt }: Build): string =>
  `${version} (commit ${commit ?? 'unknown'}, built ${builtAt?.toISOString() ?? 'unknown'})`;
