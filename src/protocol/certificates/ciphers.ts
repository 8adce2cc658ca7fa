/**
 * For TLS 1.2, in OpenSSL format: only forward secrecy and authenticated encryption. Security level 2 refuses RSA keys
 * below 2048 bits and signatures with MD5 or SHA-1.
 */
export const CIPHERS_OF_TLS_1_2 = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  '@SECLEVEL=2',
].join(':');
