/**
 * What TLS 1.2 connections of clients may be encrypted with, in OpenSSL's words: forward secrecy and authenticated encryption only.
 * Security level 2: nobody's certificate has RSA below 2048 bits or is signed with MD5 or SHA-1. All of TLS 1.3 is as good.
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
