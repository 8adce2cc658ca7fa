import { CERTIFICATE_API } from '../../../domains/certificates/certificate-commands.ts';
import {
  checkedMaterial,
  type MaterialInput,
  materialRefusal,
} from '../../../domains/certificates/material/certificate-material.ts';
import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import {
  type ListenerCertificates,
  type ListenerWithTls,
  UnusableCertificate,
} from '../listening/listener-certificates.ts';
import type { ListenerCertificateSet } from '../store/certificate-store.ts';

/** The handshake sends the names of all authorities to each client. */
const MAX_AUTHORITIES = 100;
/** A valid file name, because Mosquitto stores authorities in files. */
const FILE_NAME = /^(?!\.{1,2}$)[^/\\\p{Cc}]{1,255}$/u;

const SUCCESS = { response: 'SUCCESS' } as const;

/** `certificate-management` of the embedded broker. Changes are on disk and in use before the response. */
export class CertificatePlugin implements ControlPlugin {
  readonly api = CERTIFICATE_API;
  readonly #certificates: ListenerCertificates;

  constructor(certificates: ListenerCertificates) {
    this.#certificates = certificates;
  }

  execute(command: ControlCommand): unknown {
    const table = {
      insertcacertificate: (c: ControlCommand) => this.#insertAuthority(c),
      deletecacertificate: (c: ControlCommand) => this.#deleteAuthority(c),
      setservercertificate: (c: ControlCommand) => this.#setServer(c),
      removeservercertificate: (c: ControlCommand) => this.#removeServer(c),
      listcertificates: () => this.#list(),
    };
    return runCommandOf(table, command);
  }

  close(): void {}

  async #insertAuthority(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, current } = this.#listenerOf(command);
    const fileName = fileNameOf(command);
    const { leaf, key } = materialOf({ cert: requiredText(command, 'ca_cert_pem') });
    if (key !== null) throw new ControlRefusal('Invalid ca_cert_pem: it holds a private key, which must stay secret');
    const { authorities } = current;
    if (authorities.some((authority) => authority.fileName === fileName)) {
      throw new ControlRefusal('File already exists');
    }
    if (authorities.length >= MAX_AUTHORITIES) {
      throw new ControlRefusal(`The listener has ${MAX_AUTHORITIES} authorities, which is the limit`);
    }
    // Only the leaf is trusted: trusting its chain would admit clients of other authorities below the same root.
    const added = { fileName, fingerprint256: leaf.fingerprint256, cert: leaf.toString() };
    return this.#change(listener, { ...current, authorities: [...authorities, added] });
  }

  #deleteAuthority(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, current } = this.#listenerOf(command);
    const fileName = fileNameOf(command);
    const authorities = current.authorities.filter((authority) => authority.fileName !== fileName);
    if (authorities.length === current.authorities.length) throw new ControlRefusal('File not found');
    return this.#change(listener, { ...current, authorities });
  }

  #setServer(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, current } = this.#listenerOf(command);
    const fileName = fileNameOf(command);
    const privateKey = requiredText(command, 'key_pem');
    const { leaf, cert, key } = materialOf({ cert: requiredText(command, 'cert_pem'), privateKey });
    if (key === null) throw new ControlRefusal('Invalid/missing key_pem');
    return this.#change(listener, { ...current, server: { fileName, fingerprint256: leaf.fingerprint256, cert, key } });
  }

  #removeServer(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, current } = this.#listenerOf(command);
    if (current.server === null) throw new ControlRefusal('File not found');
    return this.#change(listener, { ...current, server: null });
  }

  #list(): object {
    return {
      listeners: this.#certificates.numbers.map((number) => {
        const { server, authorities } = this.#certificates.of(number);
        return { listener_id: number, server: server && summaryOf(server), cas: authorities.map(summaryOf) };
      }),
    };
  }

  async #change(listener: ListenerWithTls, changed: ListenerCertificateSet): Promise<typeof SUCCESS> {
    try {
      await this.#certificates.change(listener, changed);
    } catch (error) {
      if (error instanceof UnusableCertificate) throw new ControlRefusal(error.message);
      throw error;
    }
    return SUCCESS;
  }

  #listenerOf(command: ControlCommand): {
    readonly listener: ListenerWithTls;
    readonly current: ListenerCertificateSet;
  } {
    const number = fieldOf(command, 'listener_id');
    if (typeof number !== 'number') throw new ControlRefusal('Invalid/missing listener_id');
    const listener = this.#certificates.find(number);
    if (listener === 'NO_LISTENER') throw new ControlRefusal('Listener not found');
    if (listener === 'NO_TLS') throw new ControlRefusal('TLS is not enabled on this listener');
    return { listener, current: this.#certificates.of(number) };
  }
}

function fileNameOf(command: ControlCommand): string {
  const name = requiredText(command, 'file_name');
  if (!FILE_NAME.test(name)) throw new ControlRefusal('Invalid/missing file_name');
  return name;
}

function materialOf(input: MaterialInput) {
  try {
    return checkedMaterial(input);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // `invalid` stores its issues there.
    throw new ControlRefusal(materialRefusal((error.info?.issues ?? []) as readonly InputIssue[]));
  }
}

const summaryOf = ({ fileName, fingerprint256 }: { readonly fileName: string; readonly fingerprint256: string }) => ({
  file_name: fileName,
  fingerprint256,
});
