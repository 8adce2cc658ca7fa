import { pbkdf2Sync } from 'node:crypto';
import type { AccessDocument } from '../../../src/domains/access-control/documents/access-document.ts';
import { parseMosquittoFile } from '../../../src/domains/access-control/documents/mosquitto-file.ts';
import { runSync } from '../../../src/platform/scheduling/sliced-task.ts';
import type { ClusterWorldNode } from './cluster-world.ts';

interface FileClient {
  readonly username: string;
  readonly password?: string;
  readonly salt?: string;
  readonly iterations?: number;
  readonly encoded_password?: string;
}

const clientsIn = ({ broker }: ClusterWorldNode): readonly FileClient[] => JSON.parse(broker.readAccessFile()).clients;

/** The dynamic security file of a Mosquitto, normalized so that equal settings are equal values. */
export const documentOn = ({ broker }: ClusterWorldNode): AccessDocument =>
  runSync(parseMosquittoFile(broker.readAccessFile())).document;

/** Whether an account has this password in the file of a Mosquitto. `null`: whether it has no password. */
export function hasPassword(node: ClusterWorldNode, username: string, password: string | null): boolean {
  const client = clientsIn(node).find((one) => one.username === username);
  if (client === undefined) return false;
  // Mosquitto 2.1 writes `$7$<iterations>$<salt>$<hash>`.
  const [, , rounds, saltOf21, hashOf21] = client.encoded_password?.split('$') ?? [];
  const { password: hash = hashOf21, salt = saltOf21 ?? '', iterations = Number(rounds ?? 0) } = client;
  if (hash === undefined || password === null) return hash === undefined && password === null;
  const made = pbkdf2Sync(password, Buffer.from(salt, 'base64'), iterations, 64, 'sha512');
  return made.equals(Buffer.from(hash, 'base64'));
}
