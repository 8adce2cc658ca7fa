import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { CERTIFICATE_API } from '../../../protocol/apis/certificate-control.ts';
import {
  checkedMaterial,
  type MaterialInput,
  materialRefusal,
} from '../../../protocol/certificates/certificate-material.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import { tablePlugin } from '../../../protocol/control/table-plugin.ts';
import type { ListenerCertificates } from '../listening/listener-certificates.ts';

/** The handshake sends the names of all authorities to each client. */
const MAX_AUTHORITIES = 100;
/** A valid file name, because Mosquitto stores authorities in files. */
const FILE_NAME = /^(?!\.{1,2}$)[^/\\\p{Cc}]{1,255}$/u;

/** `certificate-management` of the embedded broker. Changes are on disk and in use before the response. */
export function certificatePlugin(certificates: ListenerCertificates): ControlPlugin {
  const listenerOf = (command: ControlCommand) => {
    const number = fieldOf(command, 'listener_id');
    if (typeof number !== 'number') throw new ControlRefusal('Invalid/missing listener_id');
    const listener = certificates.find(number);
    if (!listener) throw new ControlRefusal('Listener not found');
    const { tls } = listener;
    if (!tls) throw new ControlRefusal('TLS is not enabled on this listener');
    const current = certificates.of(number);
    const change = async (changed: Partial<typeof current>) => {
      await certificates.change(number, tls, { ...current, ...changed });
      return { response: 'SUCCESS' };
    };
    return { ...current, change };
  };
  return tablePlugin(CERTIFICATE_API, {
    insertcacertificate: async (command) => {
      listenerOf(command);
      const fileName = fileNameOf(command);
      const { leaf, key } = await materialOf({ cert: requiredText(command, 'ca_cert_pem') });
      if (key !== null) throw new ControlRefusal('Invalid ca_cert_pem: it holds a private key, which must stay secret');
      // Again: other commands may have changed it meanwhile.
      const { authorities, change } = listenerOf(command);
      if (authorities.some((authority) => authority.fileName === fileName)) {
        throw new ControlRefusal('File already exists');
      }
      if (authorities.length >= MAX_AUTHORITIES) {
        throw new ControlRefusal(`The listener has ${MAX_AUTHORITIES} authorities, which is the limit`);
      }
      // Only the leaf is trusted: trusting its chain would admit clients of other authorities below the same root.
      const added = { fileName, fingerprint256: leaf.fingerprint256, cert: leaf.toString() };
      return change({ authorities: [...authorities, added] });
    },
    deletecacertificate: (command) => {
      const { authorities, change } = listenerOf(command);
      const fileName = fileNameOf(command);
      const remaining = authorities.filter((authority) => authority.fileName !== fileName);
      if (remaining.length === authorities.length) throw new ControlRefusal('File not found');
      return change({ authorities: remaining });
    },
    setservercertificate: async (command) => {
      listenerOf(command);
      const fileName = fileNameOf(command);
      const privateKey = requiredText(command, 'key_pem');
      const { leaf, cert, key } = await materialOf({ cert: requiredText(command, 'cert_pem'), privateKey });
      if (key === null) throw new ControlRefusal('Invalid/missing key_pem');
      return listenerOf(command).change({ server: { fileName, fingerprint256: leaf.fingerprint256, cert, key } });
    },
    removeservercertificate: (command) => {
      const { server, change } = listenerOf(command);
      if (server === null) throw new ControlRefusal('File not found');
      return change({ server: null });
    },
    listcertificates: () => ({
      listeners: certificates.numbers.map((number) => {
        const { server, authorities } = certificates.of(number);
        return { listener_id: number, server: server && summaryOf(server), cas: authorities.map(summaryOf) };
      }),
    }),
  });
}

function fileNameOf(command: ControlCommand): string {
  const name = requiredText(command, 'file_name');
  if (!FILE_NAME.test(name)) throw new ControlRefusal('Invalid/missing file_name');
  return name;
}

async function materialOf(input: MaterialInput) {
  try {
    return await runInSlices(checkedMaterial(input));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ControlRefusal(materialRefusal((error.info?.issues ?? []) as readonly InputIssue[]));
  }
}

const summaryOf = ({ fileName, fingerprint256 }: { readonly fileName: string; readonly fingerprint256: string }) => ({
  file_name: fileName,
  fingerprint256,
});
