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
import type { KeptCertificates } from '../store/certificate-store.ts';

/** All of them are told to every client in its handshake. */
const MAX_AUTHORITIES = 100;
/** As the name of a file has to be, which it is elsewhere: Mosquitto keeps authorities in files. */
const FILE_NAME = /^(?!\.{1,2}$)[^/\\\p{Cc}]{1,255}$/u;

const SUCCESS = { response: 'SUCCESS' } as const;

/** `certificate-management` of the embedded broker. What a request changes is on disk and in use before it is answered. */
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
    const { listener, kept } = this.#listenerOf(command);
    const fileName = fileNameOf(command);
    const { leaf, key } = materialOf({ cert: requiredText(command, 'ca_cert_pem') });
    if (key !== null) throw new ControlRefusal('Invalid ca_cert_pem: it holds a private key, which nobody may have');
    const { authorities } = kept;
    if (authorities.some((authority) => authority.fileName === fileName)) {
      throw new ControlRefusal('File already exists');
    }
    if (authorities.length >= MAX_AUTHORITIES) {
      throw new ControlRefusal(`The listener has ${MAX_AUTHORITIES} authorities, which is the limit`);
    }
    // What came with it is how it got its own certificate: trusting that too would let others' clients in.
    const added = { fileName, fingerprint256: leaf.fingerprint256, cert: leaf.toString() };
    return this.#change(listener, { ...kept, authorities: [...authorities, added] });
  }

  #deleteAuthority(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, kept } = this.#listenerOf(command);
    const fileName = fileNameOf(command);
    const authorities = kept.authorities.filter((authority) => authority.fileName !== fileName);
    if (authorities.length === kept.authorities.length) throw new ControlRefusal('File not found');
    return this.#change(listener, { ...kept, authorities });
  }

  #setServer(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, kept } = this.#listenerOf(command);
    const fileName = fileNameOf(command);
    const privateKey = requiredText(command, 'key_pem');
    const { leaf, cert, key } = materialOf({ cert: requiredText(command, 'cert_pem'), privateKey });
    if (key === null) throw new ControlRefusal('Invalid/missing key_pem');
    return this.#change(listener, { ...kept, server: { fileName, fingerprint256: leaf.fingerprint256, cert, key } });
  }

  #removeServer(command: ControlCommand): Promise<typeof SUCCESS> {
    const { listener, kept } = this.#listenerOf(command);
    if (kept.server === null) throw new ControlRefusal('File not found');
    return this.#change(listener, { ...kept, server: null });
  }

  #list(): object {
    return {
      listeners: this.#certificates.numbers.map((number) => {
        const { server, authorities } = this.#certificates.of(number);
        return { listener_id: number, server: server && toldOf(server), cas: authorities.map(toldOf) };
      }),
    };
  }

  async #change(listener: ListenerWithTls, kept: KeptCertificates): Promise<typeof SUCCESS> {
    try {
      await this.#certificates.change(listener, kept);
    } catch (error) {
      if (error instanceof UnusableCertificate) throw new ControlRefusal(error.message);
      throw error;
    }
    return SUCCESS;
  }

  #listenerOf(command: ControlCommand): { readonly listener: ListenerWithTls; readonly kept: KeptCertificates } {
    const number = fieldOf(command, 'listener_id');
    if (typeof number !== 'number') throw new ControlRefusal('Invalid/missing listener_id');
    const listener = this.#certificates.find(number);
    if (listener === 'NO_LISTENER') throw new ControlRefusal('Listener not found');
    if (listener === 'NO_TLS') throw new ControlRefusal('TLS is not enabled on this listener');
    return { listener, kept: this.#certificates.of(number) };
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
    // What `invalid` puts there.
    throw new ControlRefusal(materialRefusal((error.info?.issues ?? []) as readonly InputIssue[]));
  }
}

const toldOf = ({ fileName, fingerprint256 }: { readonly fileName: string; readonly fingerprint256: string }) => ({
  file_name: fileName,
  fingerprint256,
});
