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

/** The dynamic security file of a Mosquitto, normalized so that equal settings are equal values. */
export const documentOn = ({ broker }: ClusterWorldNode): AccessDocument =>
  runSync(parseMosquittoFile(broker.readAccessFile())).document;

/** Whether an account has this password in the file of a Mosquitto 2.0. `null`: whether it has no password. */
export function hasPassword(node: ClusterWorldNode, username: string, password: string | null): boolean {
  const client = clientsIn(node).find((one) => one.username === username);
  if (client === undefined) return false;
  const { password: hash, salt = '', iterations = 0 } = client;
  if (hash === undefined || password === null) return hash === undefined && password === null;
  const made = pbkdf2Sync(password, Buffer.from(salt, 'base64'), iterations, 64, 'sha512');
  return made.equals(Buffer.from(hash, 'base64'));
}
