import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListenerFilesInUse } from './mosquitto-config.ts';
import { replaceFile } from './replace-file.ts';

/** A certificate of a listener. `pem` includes its chain, and the private key of a server certificate. */
export interface ListenerCertificate {
  readonly fileName: string;
  readonly pem: string;
  readonly fingerprint256: string;
}

export interface ListenerMaterial {
  readonly server: ListenerCertificate | null;
  readonly authorities: readonly ListenerCertificate[];
}

/** One file per listener for its certificate, chain and key, and one for authorities. PEM parsers ignore the names. */
export class ListenerFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = join(folder, 'certificates');
  }

  inUse(number: number): ListenerFilesInUse | null {
    const { server, authorities } = this.#paths(number);
    if (!existsSync(server)) return null;
    return { server, authorities: existsSync(authorities) ? authorities : null };
  }

  read(number: number): ListenerMaterial {
    const { server, authorities } = this.#paths(number);
    return { server: parse(server)[0] ?? null, authorities: parse(authorities) };
  }

  async write(number: number, { server, authorities }: ListenerMaterial): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const paths = this.#paths(number);
    await put(paths.server, server === null ? [] : [server]);
    await put(paths.authorities, authorities);
  }

  #paths(number: number) {
    return {
      server: join(this.#folder, `${number}-server.pem`),
      authorities: join(this.#folder, `${number}-authorities.pem`),
    };
  }
}

const NAME = '# file_name: ';

async function put(path: string, certificates: readonly ListenerCertificate[]): Promise<void> {
  if (certificates.length === 0) return rm(path, { force: true });
  const text = certificates.map(({ fileName, pem }) => `${NAME}${JSON.stringify(fileName)}\n${pem}`).join('');
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  await replaceFile(path, text);
}

function parse(path: string): ListenerCertificate[] {
  if (!existsSync(path)) return [];
  const [, ...parts] = readFileSync(path, 'utf8').split(new RegExp(`^${NAME}`, 'm'));
  return parts.map((part) => {
    const end = part.indexOf('\n');
    const pem = part.slice(end + 1);
    return { fileName: JSON.parse(part.slice(0, end)), pem, fingerprint256: new X509Certificate(pem).fingerprint256 };
  });
}
