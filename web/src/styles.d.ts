// SPDX-License-Identifier: Apache-2.0
// Style sheets are bundled by esbuild.
declare module "*.css";
