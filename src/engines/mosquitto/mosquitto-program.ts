import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';

export interface MosquittoProgram {
  readonly binary: string;
  readonly plugin: string;
}

/** Paths configured by the operator. `undefined`: searched in the usual folders. */
export interface MosquittoPlaces {
  readonly binary: string | undefined;
  readonly plugin: string | undefined;
  readonly searchPath: string;
}

/** On Debian, `mosquitto` is in a folder that is only in the PATH of administrators. */
const USUAL_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/sbin'];
const USUAL_LIBRARIES = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/usr/local/lib64', '/opt/homebrew/lib'];
/** Of the folder of the program. */
const OWN_LIBRARIES = ['../lib', '../lib64'];
const PLUGIN = 'mosquitto_dynamic_security';

/**
 * Searches at each call. Returns a text with what is missing and what would help, if so. The plugin is the one that was
 * installed with the program. If there is none, it may be one of another version: see `versionOf`.
 */
export function findMosquitto(places: MosquittoPlaces): MosquittoProgram | string {
  const { binary: wanted = 'mosquitto', plugin: wantedPlugin, searchPath } = places;
  const folders = [...searchPath.split(delimiter).filter((folder) => isAbsolute(folder)), ...USUAL_FOLDERS];
  const candidates = isAbsolute(wanted) ? [wanted] : folders.map((folder) => join(folder, wanted));
  const binary = candidates.find(isProgram);
  if (binary === undefined) {
    return isAbsolute(wanted)
      ? `There is no program ${wanted} (MOSQUITTO_BINARY)`
      : `There is no program "${wanted}" on this machine: install Mosquitto, or say where it is by MOSQUITTO_BINARY`;
  }
  if (wantedPlugin !== undefined) {
    return existsSync(wantedPlugin)
      ? { binary, plugin: wantedPlugin }
      : `There is no file ${wantedPlugin} (MOSQUITTO_DYNSEC_PLUGIN)`;
  }
  const own = OWN_LIBRARIES.map((library) => join(dirname(realpathSync(binary)), library));
  const plugin = [...own, ...USUAL_LIBRARIES].flatMap(librariesIn).find(existsSync);
  if (plugin !== undefined) return { binary, plugin };
  return `The dynamic security plugin of Mosquitto (${PLUGIN}.so) was not found: say where it is by MOSQUITTO_DYNSEC_PLUGIN`;
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Distributions store libraries in a folder named after the architecture, for example `x86_64-linux-gnu`. */
function librariesIn(folder: string): string[] {
  let kinds: string[] = [];
  try {
    kinds = readdirSync(folder).filter((name) => name.includes('-linux-'));
  } catch {
    // The folder does not exist.
  }
  return ['', ...kinds].flatMap((kind) => ['so', 'dylib'].map((ending) => join(folder, kind, `${PLUGIN}.${ending}`)));
}
