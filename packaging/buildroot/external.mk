include $(sort $(wildcard $(BR2_EXTERNAL_INLAY_PATH)/package/*/*.mk))
