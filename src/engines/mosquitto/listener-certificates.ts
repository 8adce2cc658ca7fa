import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { type InputIssue, messageOf, ServiceError } from '../../platform/errors.ts';
import { OUTGOING_TLS } from '../../platform/network/outgoing-tls.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import { runInSlices } from '../../platform/scheduling/sliced-task.ts';
import {
  type CertificateMaterial,
  materialIssues,
  materialRefusal,
  missingIssuer,
  readMaterial,
} from '../../protocol/certificates/certificate-material.ts';
import { ControlRefusal } from '../../protocol/control/plugin.ts';
import { type ListenerWanted, reachedAt } from '../../protocol/hosting/broker-engine.ts';
import type { ListenerCertificate, ListenerFiles, ListenerMaterial } from './listener-files.ts';

/** The user of the files: a Mosquitto that this service runs. */
interface CertificateUser {
  readonly listeners: readonly ListenerWanted[];
  readonly files: ListenerFiles;
  readonly reloadsWebSocket: boolean;
  configurationRefusal(): Promise<string | null>;
  reload(): Promise<void>;
  restart(): Promise<void>;
}

/**
 * The certificates of the listeners of a Mosquitto that this service runs. A change is validated, the files are
 * replaced, Mosquitto loads them, and a TLS handshake verifies the served certificate. If that fails, the previous
 * files are restored. Changes run one after another. Mosquitto reloads with SIGHUP, without closing connections, only
 * the server certificate of a listener, and 2.0 only that of a listener for MQTT over TCP. Everything else needs a
 * restart, also a certificate with another type of key, because OpenSSL would serve the previous one in addition.
 * Errors: ControlRefusal.
 */
export class ListenerCertificates {
  readonly #broker: CertificateUser;
  readonly #changes = new ConcurrencyLimit({ maxRunning: 1 });

  constructor(broker: CertificateUser) {
    this.#broker = broker;
  }

  list(): readonly (ListenerMaterial & { readonly number: number })[] {
    const { files, listeners } = this.#broker;
    return listeners.filter(({ tls }) => tls).map(({ number }) => ({ number, ...files.read(number) }));
  }

  async setServer(number: number, fileName: string, cert: string, privateKey: string): Promise<void> {
    const material = await judged(cert, privateKey);
    if (material.key === null) throw new ControlRefusal('Invalid/missing key_pem');
    const server = { fileName, pem: material.cert + material.key, fingerprint256: material.leaf.fingerprint256 };
    await this.#change(number, (before) => ({ ...before, server }));
  }

  async removeServer(number: number): Promise<void> {
    await this.#change(number, (before) => {
      if (before.server === null) throw new ControlRefusal('File not found');
      return { ...before, server: null };
    });
  }

  async insertAuthority(number: number, fileName: string, cert: string): Promise<void> {
    const material = await judged(cert, null);
    if (material.key !== null)
      throw new ControlRefusal('The certificate of an authority comes without its private key');
    const unknown = missingIssuer(material);
    if (unknown !== null)
      throw new ControlRefusal(
        `Mosquitto trusts an authority only with its chain up to the root: ${unknown} is missing`,
      );
    const added = { fileName, pem: material.cert, fingerprint256: material.leaf.fingerprint256 };
    await this.#change(number, (before, { requireCertificate }) => {
      if (!requireCertificate) throw new ControlRefusal(REQUESTS_NO_CERTIFICATES);
      const isKnown = before.authorities.some((one) => one.fileName === fileName);
      if (isKnown) throw new ControlRefusal('File already exists');
      return { ...before, authorities: [...before.authorities, added] };
    });
  }

  async deleteAuthority(number: number, fileName: string): Promise<void> {
    await this.#change(number, (before) => {
      const authorities = before.authorities.filter((one) => one.fileName !== fileName);
      if (authorities.length === before.authorities.length) throw new ControlRefusal('File not found');
      return { ...before, authorities };
    });
  }

  #change(number: number, change: Change): Promise<void> {
    return this.#changes.run(() => this.#changeNow(number, change));
  }

  async #changeNow(number: number, change: Change): Promise<void> {
    const { files, listeners } = this.#broker;
    const listener = listeners.find((one) => one.number === number);
    if (listener === undefined) throw new ControlRefusal('Listener not found');
    if (!listener.tls) throw new ControlRefusal('TLS is not enabled on this listener');
    const before = files.read(number);
    const after = change(before, listener);
    await files.write(number, after);
    const refusal = await this.#broker.configurationRefusal();
    if (refusal !== null) {
      await files.write(number, before);
      throw new ControlRefusal(`Mosquitto does not accept this configuration: ${refusal}`, { code: 'BROKER_REJECTED' });
    }
    try {
      await this.#take(listener, before, after);
    } catch (error) {
      await files.write(number, before);
      const reason = messageOf(error);
      const undone = await this.#take(listener, after, before).then(
        () => 'what it had before was put back',
        () => 'what it had before was put back, and it does not serve that either',
      );
      throw new ControlRefusal(`The listener could not be given the certificate (${reason}); ${undone}`, {
        code: 'BROKER_REJECTED',
      });
    }
  }

  async #take(listener: ListenerWanted, from: ListenerMaterial, to: ListenerMaterial): Promise<void> {
    const canReload = listener.protocol === 'MQTT' || this.#broker.reloadsWebSocket;
    const way = takenBy(from, to, canReload);
    if (way === 'NOTHING') return;
    const serves = async () => to.server === null || (await servedFingerprint(listener)) === to.server.fingerprint256;
    if (way === 'RELOAD') {
      await this.#broker.reload();
      // A Mosquitto 2.1 that was built with libwebsockets does not reload the certificates of WebSocket listeners.
      if (await serves()) return;
    }
    await this.#broker.restart();
    if (!(await serves())) throw new Error('it serves another certificate');
  }
}

type Change = (before: ListenerMaterial, listener: ListenerWanted) => ListenerMaterial;

const REQUESTS_NO_CERTIFICATES =
  'This listener was made without `requiresCertificate`, and Mosquitto then asks no client for a certificate: it would let in those of other authorities, too';

function takenBy(from: ListenerMaterial, to: ListenerMaterial, canReload: boolean) {
  // The listener was closed before and stays closed.
  if (from.server === null && to.server === null) return 'NOTHING';
  if (from.server === null || to.server === null) return 'RESTART';
  if (!samePems(from.authorities, to.authorities)) return 'RESTART';
  if (from.server.pem === to.server.pem) return 'NOTHING';
  return canReload && keyKind(from.server) === keyKind(to.server) ? 'RELOAD' : 'RESTART';
}

const keyKind = ({ pem }: ListenerCertificate): string | undefined =>
  new X509Certificate(pem).publicKey.asymmetricKeyType;

const samePems = (some: readonly ListenerCertificate[], others: readonly ListenerCertificate[]): boolean =>
  some.length === others.length && some.every(({ pem }, index) => pem === others[index]?.pem);

async function judged(cert: string, privateKey: string | null): Promise<CertificateMaterial> {
  let issues: readonly InputIssue[];
  try {
    const material = await runInSlices(readMaterial({ cert, privateKey }));
    issues = await runInSlices(materialIssues(material));
    if (issues.length === 0) return material;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    issues = (error.info?.issues ?? []) as readonly InputIssue[];
  }
  throw new ControlRefusal(materialRefusal(issues), { code: 'INVALID' });
}

const HANDSHAKE_MS = 3_000;

/** Returns the SHA-256 fingerprint (`AB:CD:…`) of the certificate that a TLS listener of this machine serves. */
function servedFingerprint({ host, port }: ListenerWanted): Promise<string> {
  return new Promise((resolve, reject) => {
    // The listener may refuse a client without a certificate, but has sent its own by then.
    const socket = connect({ host: reachedAt(host), port, rejectUnauthorized: false, ...OUTGOING_TLS }, () => {
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
      socket.destroy();
      if (fingerprint === undefined) reject(new Error('the listener showed no certificate'));
      else resolve(fingerprint);
    });
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy(new Error('the listener does not answer')));
    // `reason` is more readable than OpenSSL's message.
    socket.on('error', ({ reason, message }: Error & { readonly reason?: string }) =>
      reject(new Error(reason ?? message)),
    );
  });
}
