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
}

const clientsIn = ({ broker }: ClusterWorldNode): readonly FileClient[] => JSON.parse(broker.readAccessFile()).clients;

/** What a Mosquitto has on disk, in the form in which what means the same is the same. */
export const documentOn = ({ broker }: ClusterWorldNode): AccessDocument =>
  runSync(parseMosquittoFile(broker.readAccessFile())).document;

/** Whether an account has this password on a Mosquitto 2.0, by its file; null: whether it has none. */
export function hasPassword(node: ClusterWorldNode, username: string, password: string | null): boolean {
  const client = clientsIn(node).find((one) => one.username === username);
  if (client === undefined) return false;
  const { password: hash, salt = '', iterations = 0 } = client;
  if (hash === undefined || password === null) return hash === undefined && password === null;
  const made = pbkdf2Sync(password, Buffer.from(salt, 'base64'), iterations, 64, 'sha512');
  return made.equals(Buffer.from(hash, 'base64'));
}
